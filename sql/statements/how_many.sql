-- How many there are.
SELECT count(*) FROM passing
