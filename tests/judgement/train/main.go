// Command train learns the weights of weak evidence from the labelled texts of this module.
package main

import (
	"flag"
	"fmt"
	"log"
	"os"
	"time"

	"github.com/redrive/redrive/classify"
)

func main() {
	var set settings
	data := flag.String("data", "data", "folder with the labelled texts")
	tuned := flag.String("tuned", "../../classify/testdata", "folder with the texts that the rules were written with")
	folds := flag.Int("folds", 5, "leave each of so many parts of the families out once, and score it")
	flag.IntVar(&set.epochs, "epochs", 20, "")
	flag.Float64Var(&set.rate, "rate", 0.1, "")
	flag.Float64Var(&set.decay, "decay", 1e-3, "")
	flag.IntVar(&set.families, "families", 3, "")
	flag.Float64Var(&set.verdict, "verdict", 1, "")
	flag.Float64Var(&set.tunedW, "tuned-weight", 0.5, "")
	flag.Float64Var(&set.retry, "retry", 1, "")
	flag.Uint64Var(&set.sorts, "without", 0, "")
	flag.Float64Var(&set.dropRule, "drop-rule", 0.2, "")
	flag.Float64Var(&set.dropWord, "drop-word", 0.4, "")
	share := flag.Int("share", 100, "learn from so many percent of the families, to see what more data brings")
	out := flag.String("out", "", "file to write the weights to")
	misses := flag.Bool("misses", false, "")
	flag.Parse()
	log.SetFlags(0)
	start := time.Now()
	samples, err := readSamples(*data, *tuned)
	if err != nil {
		log.Fatal("train: ", err)
	}
	log.Printf("%d samples in %v", len(samples), time.Since(start).Round(time.Millisecond))
	if *out != "" {
		var train []*sample
		for i := range samples {
			if !samples[i].doubted {
				train = append(train, &samples[i])
			}
		}
		b, err := learn(train, set).encode()
		if err == nil {
			err = os.WriteFile(*out, b, 0o644)
		}
		if err != nil {
			log.Fatal("train: ", err)
		}
		log.Printf("%d bytes in %v", len(b), time.Since(start).Round(time.Millisecond))
		return
	}
	var rules, weighed, strong, weak, labels tally
	for fold := range *folds {
		var train []*sample
		for i := range samples {
			if s := &samples[i]; s.doubted {
				continue
			} else if s.tuned || s.made && s.of == "" || foldOf(s.family, *folds) != fold && foldOf("share of "+s.family, 100) < *share {
				train = append(train, s)
			}
		}
		b, err := learn(train, set).encode()
		if err != nil {
			log.Fatal("train: ", err)
		}
		c, err := classify.WithWeights(b)
		if err != nil {
			log.Fatal("train: ", err)
		}
		for i := range samples {
			s := &samples[i]
			if s.tuned || s.made || foldOf(s.family, *folds) != fold {
				continue
			}
			got := c.Classify(s.item.Evidence(), "")
			if s.doubted {
				if s.verdict = 0; s.item.Retriable {
					s.verdict = 1
				}
				labels.add(s, got.Class)
				continue
			}
			labels.add(s, got.Class)
			rules.add(s, s.byRules.Class)
			if s.strong {
				strong.add(s, got.Class)
			} else {
				weak.add(s, got.Class)
			}
			if weighed.add(s, got.Class) && *misses {
				fmt.Printf("%-18s want %-22s got %-22s rules %-22s %s %v | %.200q\n", s.family, s.item.Class, got.Class, s.byRules.Class, s.byRules.Rule, got.Weighing, s.item.Text)
			}
		}
		if fold == 0 {
			log.Printf("%d bytes, %v", len(b), time.Since(start).Round(time.Millisecond))
		}
	}
	fmt.Println("rules  ", rules.String())
	fmt.Println("weighed", weighed.String())
	fmt.Println(" strong", strong.String())
	fmt.Println(" weak  ", weak.String())
	fmt.Println("with doubted labels", labels.String())
}
