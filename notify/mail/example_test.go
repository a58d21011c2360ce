package mail_test

import (
	"fmt"

	"github.com/redrive/redrive/notify/mail"
)

func ExampleAddress() {
	fmt.Println(mail.Address("anna@example.com"))
	_, err := mail.Address("anna@example.com\r\nBcc: all@example.com")
	fmt.Println(err)
	// Output:
	// anna@example.com <nil>
	// the address contains a line break or a NUL character: remove it
}
