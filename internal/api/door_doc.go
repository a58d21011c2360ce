package api

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"
)

// document returns the document of the API with the paths of doors. The checked-in document has no
// doors, because they differ from server to server.
func document(doors []Door) []byte {
	paths, rest, found := bytes.Cut(openAPI, []byte("\ncomponents:\n"))
	if !found || len(doors) == 0 {
		return openAPI
	}
	out := bytes.NewBuffer(bytes.Clone(paths))
	out.WriteByte('\n')
	last := ""
	for _, r := range DoorRoutes(doors) {
		if r.Path != last {
			fmt.Fprintf(out, "  %s:\n", r.Path)
			last = r.Path
		}
		writeDoorRoute(out, &r)
	}
	fmt.Fprintf(out, "components:\n%s", rest)
	return out.Bytes()
}

// writeDoorRoute writes one operation of a door as YAML.
func writeDoorRoute(out *bytes.Buffer, r *Route) {
	fmt.Fprintf(out, "    %s:\n      operationId: %s\n      summary: %s\n      tags:\n      - %s\n      description: %s\n      security:\n      - key: []\n      x-roles:\n",
		strings.ToLower(r.Method), strconv.Quote(r.Name), strconv.Quote(r.Doc), r.Group, strconv.Quote("Roles: "+strings.Join(r.Roles.Names(), ", ")+"."))
	for _, role := range r.Roles.Names() {
		fmt.Fprintf(out, "      - %s\n", role)
	}
	if len(r.Params) > 0 {
		out.WriteString("      parameters:\n")
	}
	for _, p := range r.Params {
		fmt.Fprintf(out, "      - name: %s\n        in: %s\n        description: %s\n        required: %t\n        schema: {type: string}\n", p.Name, p.In, strconv.Quote(p.Doc), p.Required)
	}
	if r.In != nil {
		out.WriteString("      requestBody:\n        required: true\n        description: The payload of the job. GET /api/kinds/{kind}/schema has its schema.\n" +
			"        content: {application/json: {schema: {}}}\n")
	}
	out.WriteString("      responses:\n")
	for _, a := range r.Out {
		content := `{$ref: "#/components/schemas/Outside"}`
		if _, receipt := a.Body.(DoorReceipt); receipt {
			content = `{type: object, required: [id, status], properties: {id: {type: string}, status: {type: string}}}`
		}
		fmt.Fprintf(out, "        \"%d\":\n          description: %s\n          content: {application/json: {schema: %s}}\n", a.Status, strconv.Quote(a.Doc), content)
	}
	out.WriteString("        default:\n          description: The request was refused. The message is about the first mistake.\n          content: {application/json: {schema: " +
		"{type: object, required: [statusCode, message, error], properties: {statusCode: {type: integer}, message: {type: string}, error: {type: string}}}}}\n")
}
