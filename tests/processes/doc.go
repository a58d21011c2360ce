// Package processes runs several real processes on one PostgreSQL database and tests what only
// several processes together can show.
package processes
