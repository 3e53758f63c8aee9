# SPDX-License-Identifier: MIT
"""The extension module: cffi checks each call against the headers when it is made."""

from typing import Any

ffi: Any
lib: Any
