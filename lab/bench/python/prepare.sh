#!/bin/bash
# SPDX-License-Identifier: MIT
# Makes what ./dev bench python compares, before the sandbox, which has no network: the bindings
# and pyroute2 in one environment.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
observe=$(dirname "${1:?DIRECTORY}")/observe
"$here/../observe/prepare.sh" "$observe"
"$observe/venv/bin/pip" -q install --disable-pip-version-check numpy "$here/../../../bindings/python"
