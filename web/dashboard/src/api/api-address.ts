import { basePath } from '../app/base-path'

export type Search = Readonly<Record<string, string | number | undefined>>

/** Returns the address of a path of the dashboard's API. */
export function apiAddress(path: string, search: Search = {}): string {
  const given = Object.entries(search).filter(([, value]) => value !== undefined && value !== '')
  const query = new URLSearchParams(given.map(([name, value]) => [name, String(value)])).toString()
  return `${basePath}/api${path}${query && `?${query}`}`
}
