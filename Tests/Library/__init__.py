"""Tests of the library through its C interface. A package, so that its files are not taken for another folder's."""
