include(Platform/Linux)
