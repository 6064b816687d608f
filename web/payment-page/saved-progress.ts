import { data } from './page-data.js'

/** Where the customer is: what a reload goes on with. */
export interface Progress {
  readonly step: 'code' | 'device'
  readonly token: string
}

const key = `transferd:${data.link}`
let inMemory: string | undefined

/** Of this tab only, and gone with it. */
export function savedProgress(): Progress | undefined {
  try {
    const { step, token } = JSON.parse(read() ?? '{}') as Partial<Progress>
    return (step === 'code' || step === 'device') && typeof token === 'string' ? { step, token } : undefined
  } catch {
    return undefined
  }
}

export function saveProgress(progress: Progress | undefined): void {
  inMemory = progress && JSON.stringify(progress)
  try {
    if (inMemory === undefined) sessionStorage.removeItem(key)
    else sessionStorage.setItem(key, inMemory)
  } catch {
    // In a frame of another site a browser may refuse storage: then a reload begins at the log-in.
  }
}

function read(): string | null | undefined {
  try {
    return sessionStorage.getItem(key) ?? inMemory
  } catch {
    return inMemory
  }
}
