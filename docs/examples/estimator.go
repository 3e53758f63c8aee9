// SPDX-License-Identifier: MIT

// An estimator alone, from Go by cgo: it reads lines "ADDRESS CWND", and prints each destination's
// window, as the paper's policy computes it.
package main

// #cgo pkg-config: riptide
// #include <riptide/compute.h>
// #include <stdlib.h>
import "C"

import (
	"fmt"
	"log"
	"unsafe"
)

func main() {
	var config C.struct_riptide_estimator_config
	var estimator *C.struct_riptide_estimator
	var problem C.struct_riptide_error
	name := C.CString("paper")
	defer C.free(unsafe.Pointer(name))
	C.riptide_estimator_config_init(&config, C.size_t(unsafe.Sizeof(config)))
	config.policy = C.riptide_policy_find(name)
	if C.riptide_estimator_new(&estimator, &config, &problem) < 0 {
		log.Fatal(C.GoString(&problem.text[0]))
	}
	defer C.riptide_estimator_free(estimator)

	var address string
	var sample C.struct_riptide_sample
	for {
		if n, _ := fmt.Scan(&address, &sample.cwnd); n < 2 {
			break
		}
		text := C.CString(address)
		if C.riptide_prefix_parse(&sample.dst, text) == 0 {
			C.riptide_estimator_add(estimator, &sample)
		}
		C.free(unsafe.Pointer(text))
	}
	C.riptide_estimator_tick(estimator, 1, false) // any clock that does not go back
	var estimate *C.struct_riptide_estimate
	var text [C.RIPTIDE_PREFIX_TEXT_BYTES]C.char
	for C.riptide_estimator_pop(estimator, &estimate) == 0 {
		C.riptide_prefix_format(&estimate.dst, &text[0])
		fmt.Println(C.GoString(&text[0]), estimate.cwnd)
	}
}
