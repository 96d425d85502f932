// Package secret keeps passwords and keys out of what is shown: MaskSQL masks them in the text of a
// statement, MaskJSON in a JSON value, each by the names of members. Lists, logs, reports and task
// payloads go through it before they leave the process. Password and Provided read secrets that are
// given by name only: by a variable of the environment.
package secret
