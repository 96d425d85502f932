package role

// MachineMemory returns the memory in bytes that is available to a process on this machine.
func MachineMemory() int64 { return machineMemory() }
