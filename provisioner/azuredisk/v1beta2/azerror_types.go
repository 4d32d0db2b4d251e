package v1beta2

// ErrorCode says how an operation failed on the Azure side. Apart from
// ErrorDanglingAttach the codes are the names of the gRPC codes. A code that is
// empty or unknown means ErrorUnknown; an ErrorOK beside an error is no success.
type ErrorCode string

// Codes of an AzError.
const (
	ErrorOK                 ErrorCode = "OK"
	ErrorCancelled          ErrorCode = "CANCELLED"
	ErrorUnknown            ErrorCode = "UNKNOWN"
	ErrorInvalidArgument    ErrorCode = "INVALID_ARGUMENT"
	ErrorDeadlineExceeded   ErrorCode = "DEADLINE_EXCEEDED"
	ErrorNotFound           ErrorCode = "NOT_FOUND"
	ErrorAlreadyExists      ErrorCode = "ALREADY_EXISTS"
	ErrorPermissionDenied   ErrorCode = "PERMISSION_DENIED"
	ErrorResourceExhausted  ErrorCode = "RESOURCE_EXHAUSTED"
	ErrorFailedPrecondition ErrorCode = "FAILED_PRECONDITION"
	ErrorAborted            ErrorCode = "ABORTED"
	ErrorOutOfRange         ErrorCode = "OUT_OF_RANGE"
	ErrorUnimplemented      ErrorCode = "UNIMPLEMENTED"
	ErrorInternal           ErrorCode = "INTERNAL"
	ErrorUnavailable        ErrorCode = "UNAVAILABLE"
	ErrorDataLoss           ErrorCode = "DATA_LOSS"
	ErrorUnauthenticated    ErrorCode = "UNAUTHENTICATED"

	// ErrorDanglingAttach: the disk is still attached to another node, which
	// the parameters name (ErrorParameterCurrentNode, ErrorParameterDevicePath).
	ErrorDanglingAttach ErrorCode = "DANGLING_ATTACH"
)

// Keys of an AzError's parameters.
const (
	ErrorParameterCurrentNode = "currentNode"
	ErrorParameterDevicePath  = "devicePath"
)

// AzError is the failure of an operation on the Azure side.
type AzError struct {
	// Code says how the operation failed.
	Code ErrorCode `json:"code"`

	// Message is a text for people.
	Message string `json:"message"`

	// Parameters are further facts, by key.
	Parameters map[string]string `json:"parameters,omitempty"`
}
