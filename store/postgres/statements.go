package postgres

import (
	pg "github.com/redrive/redrive/store/postgres/internal/conn"

	_ "embed"
	"strings"
	"sync"

	"github.com/redrive/redrive/internal/sqlstore"
)

//go:embed statements.sql
var statementsFile string

// shippedTexts returns the statements for the default schema.
var shippedTexts = sync.OnceValue(func() sqlstore.Texts { return sqlstore.MustParseTexts(statementsFile) })

// textsFor returns the statements for the tables of a schema.
func textsFor(schema string) sqlstore.Texts {
	all := make(sqlstore.Texts, len(shippedTexts()))
	for name, text := range shippedTexts() {
		text.SQL = strings.ReplaceAll(text.SQL, DefaultSchema+".redrive_", pg.Quote(schema)+".redrive_")
		all[name] = text
	}
	return all
}
