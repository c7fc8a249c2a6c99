"""Tests of the tests: what breaks a guard has to make one of them fail."""
