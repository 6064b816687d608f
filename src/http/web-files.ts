import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { extname } from 'node:path'

const types: { readonly [extension: string]: string } = {
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
  '.woff2': 'font/woff2',
}

export interface WebFile {
  readonly type: string
  readonly content: Buffer
}

/**
 * Reads the scripts, styles, icons and fonts that `npm run build` writes into the folder, by their path in it, sorted. @throws Error if `needed` is
 * missing, because the program was built without them
 */
export function readWebFiles(folder: URL, needed: readonly string[]): ReadonlyMap<string, WebFile> {
  for (const name of needed) {
    if (existsSync(new URL(name, folder))) continue
    throw new Error(`the pages are not built: run npm run build (no ${name} in ${folder.pathname})`)
  }
  const files = new Map<string, WebFile>()
  for (const name of readdirSync(folder, { recursive: true, encoding: 'utf8' }).sort()) {
    const path = name.replaceAll('\\', '/')
    const type = types[extname(path)]
    if (type !== undefined) files.set(path, { type, content: readFileSync(new URL(path, folder)) })
  }
  return files
}
