// Work for Go: goroutines on several threads, channels, maps, memory that is collected, a panic that is recovered, a fault
// (SIGSEGV) that becomes one.
package main

import (
	"fmt"
	"runtime"
	"sort"
	"sync"
)

type node struct{ left, right *node }

func tree(depth int) *node {
	if depth == 0 {
		return &node{}
	}
	return &node{tree(depth - 1), tree(depth - 1)}
}

func (n *node) count() int {
	if n.left == nil {
		return 1
	}
	return 1 + n.left.count() + n.right.count()
}

func fault() (text string) {
	defer func() { text = fmt.Sprint(recover()) }()
	var none *node
	return fmt.Sprint(none.left)
}

func main() {
	runtime.GOMAXPROCS(4)
	numbers, sums := make(chan int), make(chan int, 100)
	var group sync.WaitGroup
	for worker := 0; worker < 8; worker++ {
		group.Add(1)
		go func() {
			defer group.Done()
			for number := range numbers {
				names := map[string]int{}
				for i := 0; i < 200; i++ {
					names[fmt.Sprintf("k%d", i*number%97)] += i
				}
				sums <- tree(8).count() + len(names)
			}
		}()
	}
	for i := 1; i <= 100; i++ {
		numbers <- i
	}
	close(numbers)
	group.Wait()
	close(sums)
	var all []int
	for sum := range sums {
		all = append(all, sum)
	}
	runtime.GC()
	sort.Ints(all)
	fmt.Println(len(all), all[0], all[99])
	fmt.Println(fault())
}
