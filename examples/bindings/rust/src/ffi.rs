//! The C functions as they are: those of csrc/atc.h, and the generated ones of aten.rs.
#![allow(non_snake_case)]

use std::os::raw::{c_char, c_void};

#[repr(C)]
pub struct TensorValue {
    _private: [u8; 0],
}
#[repr(C)]
pub struct GeneratorValue {
    _private: [u8; 0],
}
pub type Tensor = *mut TensorValue;
pub type Generator = *mut GeneratorValue;

#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Scalar {
    pub kind: i32,
    pub integer: i64,
    pub real: f64,
    pub imaginary: f64,
}
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Device {
    pub kind: i32,
    pub index: i32,
}

extern "C" {
    pub fn atc_last_error() -> *const c_char;
    pub fn atc_free(tensor: Tensor);
    pub fn atc_free_list(list: *mut c_void);
    pub fn atc_from_data(
        data: *const c_void,
        sizes: *const i64,
        sizes_len: usize,
        dtype: i32,
        result: *mut Tensor,
    ) -> i32;
    pub fn atc_to_data(tensor: Tensor, data: *mut c_void, bytes: usize) -> i32;
    pub fn atc_dim(tensor: Tensor, result: *mut i64) -> i32;
    pub fn atc_grad(tensor: Tensor, result: *mut Tensor) -> i32;
    pub fn atc_is_defined(tensor: Tensor) -> bool;
    pub fn atc_generator_new(seed: u64, result: *mut Generator) -> i32;
    pub fn atc_generator_free(generator: Generator);
}

include!(concat!(env!("ATC_DIR"), "/aten.rs"));
