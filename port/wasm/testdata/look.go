//go:build ignore

// Look says what a module can see and do.
package main

import (
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"os"
	"time"
)

func main() {
	var input any
	_ = json.NewDecoder(os.Stdin).Decode(&input)
	_, root := os.ReadDir("/")
	_, file := os.ReadFile("/etc/passwd")
	written := os.WriteFile("look.txt", []byte("x"), 0o600)
	number := make([]byte, 16)
	_, _ = rand.Read(number)
	begin := time.Now()
	time.Sleep(time.Millisecond)
	_ = json.NewEncoder(os.Stdout).Encode(map[string]any{
		"input": input, "root": root == nil, "file": file == nil, "written": written == nil,
		"env": len(os.Environ()), "args": max(0, len(os.Args)-1),
		"random": hex.EncodeToString(number), "time": begin.Unix(), "slept": time.Since(begin) > 0,
	})
}
