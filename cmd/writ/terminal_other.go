//go:build !windows

package main

// obeysEscapes is true of the terminals of all other systems.
func obeysEscapes(int) bool { return true }
