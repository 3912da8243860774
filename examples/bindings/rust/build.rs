//! Links the library that build.py made. `ATC_DIR` is its folder, `generated` beside the crate by default.

use std::{env, path::PathBuf};

fn main() {
    let beside = PathBuf::from(env::var("CARGO_MANIFEST_DIR").unwrap()).join("../generated");
    let folder = env::var("ATC_DIR").map_or(beside, PathBuf::from);
    let folder = folder.canonicalize().expect("the folder of libatc.so; set ATC_DIR");
    println!("cargo:rerun-if-env-changed=ATC_DIR");
    println!("cargo:rerun-if-changed={}", folder.join("aten.rs").display());
    println!("cargo:rustc-env=ATC_DIR={}", folder.display());
    println!("cargo:rustc-link-search=native={}", folder.display());
    println!("cargo:rustc-link-lib=dylib=atc");
    // A PyTorch for CUDA needs libraries that the linker does not look for, and the loader does.
    println!("cargo:rustc-link-arg=-Wl,-rpath,{},--allow-shlib-undefined", folder.display());
}
