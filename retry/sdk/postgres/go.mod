module github.com/redrive/redrive/retry/sdk/postgres

go 1.26.0

replace github.com/redrive/redrive => ../../../

require (
	github.com/jackc/pgx/v5 v5.12.0
	github.com/redrive/redrive v0.0.0
)

require (
	github.com/jackc/pgpassfile v1.0.0 // indirect
	github.com/jackc/pgservicefile v0.0.0-20240606120523-5a60cdf6a761 // indirect
	golang.org/x/text v0.43.0 // indirect
)
