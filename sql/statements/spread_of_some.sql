-- Of any query.
SELECT :varies_of_some FROM varying
