# What generate.py makes of the headers. It has looked up each name that the package uses.
from typing import Any

ffi: Any
lib: Any
