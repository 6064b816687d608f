import { data } from './page-data.js'

/** The step that a reload continues with. */
export interface Progress {
  readonly step: 'code' | 'device'
  readonly token: string
}

const key = `transferd:${data.link}`
let inMemory: string | undefined

/** Returns the progress of this tab. It is lost when the tab is closed. */
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
    // Browsers may block storage in a frame of another site. A reload then starts at the sign-in.
  }
}

function read(): string | null | undefined {
  try {
    return sessionStorage.getItem(key) ?? inMemory
  } catch {
    return inMemory
  }
}
