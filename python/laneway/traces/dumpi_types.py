"""Datatypes of DUMPI traces: names, and sizes as far as the trace tells them."""

from __future__ import annotations

from typing import Any

_NAMES = (
    *("ERROR", "NULL", "CHAR", "SIGNED_CHAR", "UNSIGNED_CHAR", "BYTE", "WCHAR", "SHORT", "UNSIGNED_SHORT", "INT"),
    *("UNSIGNED", "LONG", "UNSIGNED_LONG", "FLOAT", "DOUBLE", "LONG_DOUBLE", "LONG_LONG_INT", "UNSIGNED_LONG_LONG"),
    *("LONG_LONG", "PACKED", "LB", "UB", "FLOAT_INT", "DOUBLE_INT", "LONG_INT", "SHORT_INT", "2INT"),
    "LONG_DOUBLE_INT",
)
_SIZES = (0, 0, 1, 1, 1, 1, 4, 2, 2, 4, 4, 8, 8, 4, 8, 16, 8, 8, 8, 1, 0, 0, 8, 12, 12, 6, 8, 20)
"""Where the trace does not tell: those of 64-bit Linux."""
UNKNOWN_SIZE = -2


class Datatypes:
    """Sizes of the datatypes of one rank. Types that the program makes get theirs from the call that makes them."""

    def __init__(self, sizes: list[int]) -> None:
        told = list(sizes) + list(_SIZES[len(sizes) :])
        self._sizes = dict(enumerate(told))
        self._told = set(range(len(sizes)))

    @staticmethod
    def name(number: int) -> str:
        """The name in MPI; one for all types that the program made."""
        return f"MPI_{_NAMES[number]}" if 0 <= number < len(_NAMES) else "user-defined"

    def size(self, number: int, count: int) -> int:
        """Bytes of `count` elements, or UNKNOWN_SIZE."""
        size = self._sizes.get(number, UNKNOWN_SIZE)
        return UNKNOWN_SIZE if size < 0 or count < 0 else size * count

    def made(self, name: str, fields: dict[str, Any]) -> None:
        """A call made a type, or told the size of one."""
        if name == "MPI_Type_size":
            self._sizes[fields["datatype"]] = fields["size"]
            return
        new = fields["newtype"]
        size = self._made_size(fields)
        if size >= 0:
            self._sizes[new] = size
        elif new not in self._told:  # numbers are used again: it must not keep the size of an earlier type
            self._sizes.pop(new, None)

    def _made_size(self, fields: dict[str, Any]) -> int:
        if "oldtypes" in fields:
            parts = [self.size(old, n) for old, n in zip(fields["oldtypes"], _lengths(fields))]
            return UNKNOWN_SIZE if UNKNOWN_SIZE in parts else sum(parts)
        if "subsizes" in fields:
            count = 1
            for each in fields["subsizes"]:
                count *= each
        elif "lengths" in fields or "blocklengths" in fields:
            count = sum(_lengths(fields))
        elif "gsizes" in fields:
            return UNKNOWN_SIZE  # a share of a distributed array depends on the rank
        else:
            count = fields.get("count", 1) * fields.get("blocklength", 1)
        return self.size(fields["oldtype"], count)


def _lengths(fields: dict[str, Any]) -> tuple[int, ...]:
    found: tuple[int, ...] = fields.get("lengths") or fields.get("blocklengths") or ()
    return found
