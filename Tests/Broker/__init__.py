"""Tests of the library against brokers. A package, so that its conftest is not taken for another's."""
