package sqlite

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"

	"modernc.org/sqlite"

	"github.com/writ-dev/writ/store"
)

// connection is one connection of the driver, for one goroutine at a time. The
// writer uses it without database/sql in between, which would look after a pool
// and guard every statement against what cannot happen to it.
type connection struct{ driver connectionDriver }

// connectionDriver is what the driver's connections can do.
type connectionDriver interface {
	driver.Conn
	driver.ConnPrepareContext
	driver.ExecerContext
	driver.QueryerContext
}

func connect(ctx context.Context, dsn string) (c connection, err error) {
	connector, err := sqlite.NewConnector(dsn)
	if err != nil {
		return c, err
	}
	conn, err := connector.Connect(ctx)
	if err != nil {
		return c, err
	}
	return connection{conn.(connectionDriver)}, nil
}

func (c connection) close() error {
	if c.driver == nil {
		return nil
	}
	return c.driver.Close()
}

// exec runs one or more statements.
func (c connection) exec(ctx context.Context, text string, args ...driver.Value) (driver.Result, error) {
	return c.driver.ExecContext(ctx, text, named(nil, args))
}

// row gives the first row, or nil.
func (c connection) row(ctx context.Context, text string, args ...driver.Value) (row, error) {
	return first(c.driver.QueryContext(ctx, text, named(nil, args)))
}

func (c connection) prepare(ctx context.Context, text string) (s statement, err error) {
	stmt, err := c.driver.PrepareContext(ctx, text)
	if err != nil {
		return s, err
	}
	return statement{driver: stmt.(statementDriver)}, nil
}

// statement is a prepared statement of a connection. It is never interrupted.
type statement struct {
	driver statementDriver
	args   []driver.NamedValue // to be used again
}

// statementDriver is what the driver's statements can do.
type statementDriver interface {
	driver.Stmt
	driver.StmtExecContext
	driver.StmtQueryContext
}

func (s *statement) exec(args ...driver.Value) (driver.Result, error) {
	s.args = named(s.args[:0], args)
	defer clear(s.args) // keep no content
	return s.driver.ExecContext(context.Background(), s.args)
}

// change runs the statement and reports whether it changed a row.
func (s *statement) change(args ...driver.Value) (bool, error) {
	r, err := s.exec(args...)
	if err != nil {
		return false, err
	}
	n, err := r.RowsAffected()
	return n > 0, err
}

// row gives the first row, or nil.
func (s *statement) row(args ...driver.Value) (row, error) {
	return first(s.driver.QueryContext(context.Background(), named(nil, args)))
}

func (s *statement) close() {
	if s.driver != nil {
		_ = s.driver.Close()
	}
}

func named(to []driver.NamedValue, args []driver.Value) []driver.NamedValue {
	for i, v := range args {
		to = append(to, driver.NamedValue{Ordinal: i + 1, Value: v})
	}
	return to
}

func first(rows driver.Rows, err error) (row, error) {
	if err != nil {
		return nil, err
	}
	r := make(row, len(rows.Columns()))
	err = rows.Next(r)
	if errors.Is(err, io.EOF) {
		r, err = nil, nil
	}
	return r, errors.Join(err, rows.Close())
}

// row is a row as the driver gives it.
type row []driver.Value

// Scan is the part of [sql.Row.Scan] that is needed here: an integer, text or blob
// for each column, as the tables are strict.
func (r row) Scan(to ...any) error {
	for i, to := range to {
		ok := r[i] == nil
		switch to := to.(type) {
		case *int64:
			*to, ok = r[i].(int64)
		case *uint64:
			var n int64
			n, ok = r[i].(int64)
			*to = uint64(n)
		case *string:
			*to, ok = r[i].(string)
		case *store.Status:
			var text string
			text, ok = r[i].(string)
			*to = store.Status(text)
		case *[]byte:
			if r[i] != nil {
				*to, ok = r[i].([]byte)
			}
		}
		if !ok {
			return fmt.Errorf("column %d holds a %T, not what a %T points to", i, r[i], to)
		}
	}
	return nil
}
