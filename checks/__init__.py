"""What the tests of the core and of the adapters share."""
