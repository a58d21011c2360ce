package world

import (
	"bytes"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"strings"
)

// The layout of a page, in pixels.
const (
	dot    = 3        // size of a cell of a glyph, in pixels
	stepX  = 6 * dot  // distance from one glyph to the next
	stepY  = 10 * dot // distance from one line to the next
	margin = 8 * dot
)

// Page draws a page of text as a PNG, like the output of a scanner. The text may have capital
// letters, digits, spaces and the signs ".:,-".
func Page(text string) ([]byte, error) {
	lines := strings.Split(text, "\n")
	longest := 0
	for _, line := range lines {
		longest = max(longest, len(line))
	}
	picture := image.NewGray(image.Rect(0, 0, 2*margin+longest*stepX, 2*margin+len(lines)*stepY))
	for i := range picture.Pix {
		picture.Pix[i] = 0xFF
	}
	for row, line := range lines {
		for column, r := range line {
			rows, known := glyphs[r]
			if !known && r != ' ' {
				return nil, fmt.Errorf("page: there is no glyph for %q; use capital letters, digits, spaces and .:,-", r)
			}
			for y, bits := range rows {
				for x := range 5 {
					if bits>>(4-x)&1 == 1 {
						fill(picture, margin+column*stepX+x*dot, margin+row*stepY+y*dot)
					}
				}
			}
		}
	}
	var b bytes.Buffer
	if err := png.Encode(&b, picture); err != nil {
		return nil, fmt.Errorf("page: %w", err)
	}
	return b.Bytes(), nil
}

func fill(picture *image.Gray, x, y int) {
	for dy := range dot {
		for dx := range dot {
			picture.SetGray(x+dx, y+dy, color.Gray{})
		}
	}
}

// word is a word of the page with its position.
type word struct {
	text string
	box  image.Rectangle
}

// recognise reads the text of a page from its pixels.
func recognise(file []byte) (text string, words []word, err error) {
	picture, err := png.Decode(bytes.NewReader(file))
	if err != nil {
		return "", nil, fmt.Errorf("the image data is not valid: %w", err)
	}
	letters := map[[7]byte]rune{{}: ' '}
	for r, rows := range glyphs {
		letters[rows] = r
	}
	size := picture.Bounds()
	var lines []string
	for y := margin; y+stepY <= size.Dy()-margin; y += stepY {
		var line []rune
		for x := margin; x+stepX <= size.Dx()-margin; x += stepX {
			r, known := letters[cells(picture, x, y)]
			if !known {
				r = '?'
			}
			line = append(line, r)
		}
		lines = append(lines, strings.TrimRight(string(line), " "))
		words = append(words, wordsOf(string(line), y)...)
	}
	return strings.Join(lines, "\n"), words, nil
}

// cells returns the cells of the glyph at a position.
func cells(picture image.Image, left, top int) (rows [7]byte) {
	for y := range rows {
		for x := range 5 {
			grey := color.GrayModel.Convert(picture.At(left+x*dot+dot/2, top+y*dot+dot/2)).(color.Gray)
			rows[y] <<= 1
			if grey.Y < 0x80 {
				rows[y] |= 1
			}
		}
	}
	return rows
}

func wordsOf(line string, top int) (words []word) {
	at := 0
	for _, part := range strings.SplitAfter(line, " ") {
		if text := strings.TrimSpace(part); text != "" {
			left := margin + at*stepX
			words = append(words, word{text, image.Rect(left, top, left+len(text)*stepX, top+7*dot)})
		}
		at += len(part)
	}
	return words
}
