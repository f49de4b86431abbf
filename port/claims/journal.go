package claims

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/writ-dev/writ/artifact"
	"github.com/writ-dev/writ/graph"
)

// maxLine bounds a line of a journal, in bytes.
const maxLine = 16 << 20

// JournalError is a file that is no journal of the graph, or that was changed.
type JournalError struct {
	Line    uint64 // from 1
	Problem string
}

func (e *JournalError) Error() string {
	return fmt.Sprintf("the journal is damaged at line %d: %s", e.Line, e.Problem)
}

// journal is the file of a graph. Processes share it: each locks it, reads what
// the others have written, and appends.
type journal struct {
	file *os.File
	read int64 // bytes that are in the state
}

func openJournal(path string) (*journal, error) {
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	info, err := file.Stat()
	if err != nil || !info.Mode().IsRegular() {
		_ = file.Close() // was not used
		return nil, errors.New("the journal is no regular file")
	}
	if info.Size() == 0 {
		syncDir(filepath.Dir(path))
	}
	return &journal{file: file}, nil
}

// syncDir makes a new file durable, where a system can.
func syncDir(path string) {
	if dir, err := os.Open(path); err == nil {
		_ = dir.Sync() // some systems cannot
		_ = dir.Close()
	}
}

// catchUp takes over what others have written. A last line without an end was
// never acknowledged, and is cut off.
func (j *journal) catchUp(s *state) error {
	info, err := j.file.Stat()
	if err != nil {
		return &Error{graph.ClassUnavailable, "the journal cannot be read: " + err.Error()}
	}
	if info.Size() == j.read {
		return nil
	}
	if info.Size() < j.read {
		return &JournalError{s.chain.seq, "it has become shorter"}
	}
	data := make([]byte, info.Size()-j.read)
	if _, err := j.file.ReadAt(data, j.read); err != nil && !errors.Is(err, io.EOF) {
		return &Error{graph.ClassUnavailable, "the journal cannot be read: " + err.Error()}
	}
	for len(data) > 0 {
		end := bytes.IndexByte(data, '\n')
		if end < 0 {
			if err := j.file.Truncate(j.read); err != nil {
				return &Error{graph.ClassUnavailable, "the journal cannot be mended: " + err.Error()}
			}
			return nil
		}
		if err := s.take(data[:end]); err != nil {
			return err
		}
		j.read += int64(end) + 1
		data = data[end+1:]
	}
	return nil
}

// take takes over a line of a journal.
func (s *state) take(line []byte) error {
	r, err := readRecord(line, s.graph)
	problem := ""
	switch {
	case err != nil:
		problem = err.Error()
	case r.seq != s.chain.seq+1 || r.prev != s.chain.last:
		problem = "it does not follow the line before"
	default:
		problem = s.fits(r)
	}
	if problem != "" {
		return &JournalError{s.chain.seq + 1, problem}
	}
	s.apply(r)
	s.chain = chain{r.seq, artifact.Sum(line)}
	return nil
}

// append adds lines, and returns when they are durable. An [*Error] means that the
// journal is as it was before.
func (j *journal) append(text []byte) error {
	if _, err := j.file.WriteAt(text, j.read); err != nil {
		if cut := j.file.Truncate(j.read); cut != nil {
			return fmt.Errorf("the journal cannot be written: %w", err)
		}
		return &Error{graph.ClassUnavailable, "the journal cannot be written: " + err.Error()}
	}
	if err := j.file.Sync(); err != nil {
		return fmt.Errorf("the journal cannot be made durable: %w", err)
	}
	j.read += int64(len(text))
	return nil
}
