//! PyTorch's operators for Rust. `ffi` has all of them; `Tensor` shows what a safe layer over them looks like.

pub mod ffi;

use std::ffi::CStr;
use std::fmt;
use std::ptr::{null, null_mut};

/// An exception of PyTorch: its code in csrc/atc.h, and its message.
#[derive(Debug)]
pub struct Error {
    pub code: i32,
    pub message: String,
}

impl fmt::Display for Error {
    fn fmt(&self, formatter: &mut fmt::Formatter) -> fmt::Result {
        write!(formatter, "{}", self.message)
    }
}

impl std::error::Error for Error {}

/// What a C function returned, as a result.
fn check(code: i32) -> Result<(), Error> {
    if code == 0 {
        return Ok(());
    }
    let message = unsafe { CStr::from_ptr(ffi::atc_last_error()) };
    Err(Error { code, message: message.to_string_lossy().into_owned() })
}

/// The tensor that a C function gives.
fn tensor(call: impl FnOnce(*mut ffi::Tensor) -> i32) -> Result<Tensor, Error> {
    let mut handle = null_mut();
    check(call(&mut handle))?;
    Ok(Tensor(handle))
}

const FLOAT: i32 = 6; // c10::ScalarType::Float

/// A tensor, which is freed when it goes out of scope.
pub struct Tensor(ffi::Tensor);

impl Drop for Tensor {
    fn drop(&mut self) {
        unsafe { ffi::atc_free(self.0) }
    }
}

impl Tensor {
    /// A tensor of floats with a copy of data.
    pub fn from_floats(data: &[f32], sizes: &[i64]) -> Result<Tensor, Error> {
        assert_eq!(data.len() as i64, sizes.iter().product::<i64>());
        tensor(|result| unsafe {
            ffi::atc_from_data(data.as_ptr().cast(), sizes.as_ptr(), sizes.len(), FLOAT, result)
        })
    }

    /// The elements of a tensor of so many floats.
    pub fn floats(&self, count: usize) -> Result<Vec<f32>, Error> {
        let mut data = vec![0f32; count];
        check(unsafe { ffi::atc_to_data(self.0, data.as_mut_ptr().cast(), 4 * count) })?;
        Ok(data)
    }

    /// Makes it a leaf that gradients are collected for.
    pub fn requires_grad(self) -> Result<Tensor, Error> {
        check(unsafe { ffi::at_requires_grad_(self.0, true) })?;
        Ok(self)
    }

    /// `self + alpha * other`
    pub fn add(&self, other: &Tensor, alpha: i64) -> Result<Tensor, Error> {
        let alpha = ffi::Scalar { integer: alpha, ..Default::default() };
        tensor(|result| unsafe { ffi::at_add_Tensor(self.0, other.0, alpha, result) })
    }

    /// The product of two matrices.
    pub fn matmul(&self, other: &Tensor) -> Result<Tensor, Error> {
        tensor(|result| unsafe { ffi::at_matmul(self.0, other.0, result) })
    }

    /// The sum of all elements.
    pub fn sum(&self) -> Result<Tensor, Error> {
        tensor(|result| unsafe { ffi::at_sum(self.0, null(), result) })
    }

    /// Adds gradients to all leaves that this scalar was computed from.
    pub fn backward(&self) -> Result<(), Error> {
        check(unsafe { ffi::at__backward(self.0, null(), 0, null_mut(), null(), false) })
    }

    /// The gradient, if there is one.
    pub fn grad(&self) -> Result<Option<Tensor>, Error> {
        let gradient = tensor(|result| unsafe { ffi::atc_grad(self.0, result) })?;
        let is_defined = unsafe { ffi::atc_is_defined(gradient.0) };
        Ok(is_defined.then_some(gradient))
    }
}
