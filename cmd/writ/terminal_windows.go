package main

import "golang.org/x/sys/windows"

// obeysEscapes turns on escape sequences, which a Windows console shows as text
// until it is asked.
func obeysEscapes(fd int) bool {
	var mode uint32
	if windows.GetConsoleMode(windows.Handle(fd), &mode) != nil {
		return false
	}
	return windows.SetConsoleMode(windows.Handle(fd), mode|windows.ENABLE_VIRTUAL_TERMINAL_PROCESSING) == nil
}
