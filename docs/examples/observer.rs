// SPDX-License-Identifier: MIT
//! An observer alone, from Rust without any crate: one dump of the open connections, with the peer
//! and the congestion window of each. A program of size would let bindgen make the declarations.
use std::ffi::{c_char, c_int, c_short, c_ulong, c_void, CStr};
use std::ptr;

#[repr(C)]
struct Prefix { family: u8, len: u8, addr: [u8; 16] }

/// The first members of struct riptide_sample, which the library returns by pointer.
#[repr(C)]
struct Sample { dst: Prefix, cookie: u64, cwnd: u32 }

#[repr(C)]
struct Error { text: [c_char; 256], field: *const c_char, index: i64, reserved: [u64; 4] }

#[repr(C)]
struct PollFd { fd: c_int, events: c_short, revents: c_short }

const POLLIN: c_short = 1;
const E_DONE: c_int = 2;

#[link(name = "riptide")]
extern "C" {
    fn riptide_observer_new(observerp: *mut *mut c_void, config: *const c_void, error: *mut Error) -> c_int;
    fn riptide_observer_free(observer: *mut c_void) -> *mut c_void;
    fn riptide_observer_get_fd(observer: *const c_void) -> c_int;
    fn riptide_observer_start(observer: *mut c_void) -> c_int;
    fn riptide_observer_dispatch(observer: *mut c_void) -> c_int;
    fn riptide_observer_pop(observer: *mut c_void, samplep: *mut *const Sample) -> c_int;
    fn riptide_prefix_format(prefix: *const Prefix, text: *mut c_char);
    fn poll(fds: *mut PollFd, n: c_ulong, timeout_ms: c_int) -> c_int;
}

fn main() {
    let mut observer = ptr::null_mut();
    let mut error = Error { text: [0; 256], field: ptr::null(), index: 0, reserved: [0; 4] };
    let mut text = [0 as c_char; 50];
    unsafe {
        if riptide_observer_new(&mut observer, ptr::null(), &mut error) < 0 {
            eprintln!("{}", CStr::from_ptr(error.text.as_ptr()).to_string_lossy());
            std::process::exit(1);
        }
        let mut fd = PollFd { fd: riptide_observer_get_fd(observer), events: POLLIN, revents: 0 };
        let mut result = riptide_observer_start(observer);
        while result >= 0 && result != E_DONE {
            poll(&mut fd, 1, -1);
            result = riptide_observer_dispatch(observer);
            let mut sample = ptr::null();
            let mut popped = riptide_observer_pop(observer, &mut sample);
            while popped == 0 {
                riptide_prefix_format(&(*sample).dst, text.as_mut_ptr());
                println!("{} {}", CStr::from_ptr(text.as_ptr()).to_string_lossy(), (*sample).cwnd);
                popped = riptide_observer_pop(observer, &mut sample);
            }
            if popped == E_DONE {
                result = popped;
            }
        }
        riptide_observer_free(observer);
    }
}
