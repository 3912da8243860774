//! Adds, multiplies, differentiates, and shows the message of an error, as c/demo.c does.

use atc::{Error, Tensor};

fn main() -> Result<(), Error> {
    let x = Tensor::from_floats(&[1., 2., 3., 4.], &[2, 2])?.requires_grad()?;
    let y = Tensor::from_floats(&[1.; 4], &[2, 2])?;
    let sum = x.add(&y, 2)?;
    println!("x + 2 y: {:?}", sum.floats(4)?);
    let product = x.matmul(&sum)?;
    println!("x (x + 2 y): {:?}", product.floats(4)?);
    product.sum()?.backward()?;
    println!("gradient of x: {:?}", x.grad()?.expect("x requires a gradient").floats(4)?);
    let wrong = Tensor::from_floats(&[1., 2., 3.], &[3])?;
    if let Err(error) = x.matmul(&wrong) {
        println!("error: {error}");
    }
    Ok(())
}
