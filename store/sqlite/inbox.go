package sqlite

import (
	"context"
	"fmt"
	"slices"

	"github.com/writ-dev/writ/store"
)

// inboxStatements are those of the writer that are about messages.
type inboxStatements struct {
	selectMessage, countMessages statement
	insertMessage, takeMessage   statement
	dropMessages                 statement
}

func (i *inboxStatements) statements() map[*statement]string {
	return map[*statement]string{
		&i.selectMessage: `SELECT id FROM message WHERE run=? AND name=?`,
		&i.countMessages: `SELECT count(*) FROM message WHERE run=?`,
		&i.insertMessage: `INSERT INTO message (run, name, body) VALUES (?, ?, ?)`,
		&i.takeMessage:   `DELETE FROM message WHERE id=? AND run=?`,
		&i.dropMessages:  `DELETE FROM message WHERE run=?`,
	}
}

// Post implements [store.Inbox].
func (s *Store) Post(ctx context.Context, exec string, m store.Message) (seq uint64, err error) {
	if err := m.Check(); err != nil {
		return 0, err
	}
	err = s.submit(ctx, &request{do: func(w *writer) (err error) {
		seq, err = w.post(exec, m)
		return err
	}})
	if err != nil {
		return 0, err
	}
	return seq, nil
}

func (w *writer) post(exec string, m store.Message) (uint64, error) {
	run, have, err := w.run(exec)
	if err != nil {
		return 0, err
	}
	var id, count int64
	there, err := w.selectMessage.row(run, m.ID)
	if err != nil {
		return 0, err
	}
	if there != nil {
		err = there.Scan(&id)
		return uint64(id), err
	}
	counted, err := w.countMessages.row(run)
	if err != nil {
		return 0, err
	}
	if err := counted.Scan(&count); err != nil {
		return 0, err
	}
	if err := have.Accept(m, int(count)); err != nil {
		return 0, &refusal{err}
	}
	result, err := w.insertMessage.exec(run, m.ID, nonNil(m.Body))
	if err != nil {
		return 0, err
	}
	id, err = result.LastInsertId()
	return uint64(id), err
}

// Posted implements [store.Inbox].
func (s *Store) Posted(ctx context.Context, exec string, after uint64, n int) ([]store.Message, error) {
	if err := s.alive(); err != nil {
		return nil, err
	}
	body, where, args := "NULL", "", []any{int64(after)}
	if exec != "" {
		body, where, args = "message.body", "AND run.exec = ?", append(args, exec)
	}
	rows, err := s.readDB.QueryContext(ctx, `SELECT run.exec, message.id, message.name, `+body+` FROM message JOIN run ON run.id = message.run
		WHERE message.id > ? `+where+` ORDER BY message.id LIMIT ?`, append(args, max(n, 0))...)
	if err != nil {
		return nil, explain(err)
	}
	defer rows.Close()
	var list []store.Message
	for rows.Next() {
		var m store.Message
		var id int64
		if err := rows.Scan(&m.Exec, &id, &m.ID, &m.Body); err != nil {
			return nil, explain(err)
		}
		m.Seq = uint64(id)
		list = append(list, m)
	}
	return list, explain(rows.Err())
}

// take stores a batch that only takes messages.
func (s *Store) take(ctx context.Context, b store.Batch) error {
	return s.submit(ctx, &request{do: func(w *writer) error {
		run, have, err := w.run(b.Exec)
		if err != nil {
			return err
		}
		if _, err := b.Follow(have, s.now()); err != nil {
			return &refusal{err}
		}
		return w.takeMessages(run, b)
	}})
}

// takeMessages fails for a batch that takes what is not there.
func (w *writer) takeMessages(run int64, b store.Batch) error {
	for i, seq := range b.Taken {
		there, err := w.takeMessage.change(int64(seq), run)
		if err == nil && !there && !slices.Contains(b.Taken[:i], seq) {
			err = fmt.Errorf("append to %s: %w: message %d is not in the inbox", b.Exec, store.ErrConflict, seq)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// dropOpen removes what nothing waits for once a run has ended.
func (w *writer) dropOpen(run int64) error {
	if _, err := w.dropTimers.exec(run); err != nil {
		return err
	}
	_, err := w.dropMessages.exec(run)
	return err
}

var _ store.Inbox = (*Store)(nil)
