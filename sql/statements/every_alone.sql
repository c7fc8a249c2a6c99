-- All of them.
SELECT every.* FROM every
