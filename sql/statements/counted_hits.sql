-- How many of them exist.
SELECT counted.counted FROM counted
