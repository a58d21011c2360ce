// Package processes runs several real processes on one PostgreSQL database: what a
// fleet promises that one process cannot show.
package processes
