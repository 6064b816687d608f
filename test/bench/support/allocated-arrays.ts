export const arrayLength = 1_000
export const arraysInMain = 20_000
export const arraysInWorker = 10_000
/** An element takes eight bytes; the array and its elements have headers of 32 and 16 bytes. */
export const arrayBytes = arrayLength * 8 + 48
