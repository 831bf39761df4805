"""What the tests share. tools: swiftc_cache; fixtures: those that Tests/conftest.py gives to every folder."""
