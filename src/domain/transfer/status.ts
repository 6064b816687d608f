/** The status values and names of the specification (Resources, "Status values of a transfer"). */
export const statusCodes = { Pending: 1, Completed: 2, ManualControl: 3, Cancelled: 4, Failed: 5 } as const
export type Status = keyof typeof statusCodes

/** Returns the name of a status value. @throws Error for an unknown one */
export function statusNameOf(code: number): Status {
  const found = (Object.keys(statusCodes) as Status[]).find((name) => statusCodes[name] === code)
  if (found === undefined) throw new Error(`unknown status ${code}`)
  return found
}

export function isTerminal(status: Status): boolean {
  return status === 'Completed' || status === 'Cancelled' || status === 'Failed'
}
