package kcp

import (
	"fmt"
	"github.com/writ-dev/writ/bench/manifests"
	"testing"
	"time"
)

func TestDevEst(t *testing.T) {
	text := string(manifests.YAML(100000, 1))
	a := time.Now()
	n := estimateNodes(text)
	fmt.Println(n, len(text), time.Since(a))
	a = time.Now()
	s, _ := maskText(text)
	fmt.Println(len(s), time.Since(a))
	a = time.Now()
	checkInput([]byte(text), "", 1<<30)
	fmt.Println(time.Since(a))
	a = time.Now()
	worthFastReading(text)
	fmt.Println(time.Since(a))
}
