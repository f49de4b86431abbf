//go:build race

package sqlite_test

// raceDetector says that everything is several times slower. Tests that use one
// goroutine, or processes of their own, have little to gain from it and do less.
const raceDetector = true
