//! Scripts the world for tests: providers that answer as told, and a clock that is wound by hand.
