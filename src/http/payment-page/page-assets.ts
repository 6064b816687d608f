import { createHash } from 'node:crypto'
import { existsSync, readdirSync, readFileSync } from 'node:fs'

const types = {
  svg: 'image/svg+xml',
  js: 'text/javascript; charset=utf-8',
  css: 'text/css; charset=utf-8',
} as const

interface Asset {
  readonly type: string
  readonly content: Buffer
}

/** The assets of the pages: `web/`, which `npm run build` copies into `dist/web`. */
export interface Assets {
  /** The digest of all assets. It is part of every URL, so that no cached asset is out of date. */
  readonly version: string
  readonly files: ReadonlyMap<string, Asset>
}

let loaded: Assets | undefined

/** Reads the assets once, for the first page. @throws Error if the program was built without them */
export function loadAssets(): Assets {
  loaded ??= readAssets(new URL('./', import.meta.resolve('#web/payment-page/page.js')))
  return loaded
}

function readAssets(folder: URL): Assets {
  const files = new Map<string, Asset>()
  const hash = createHash('sha256')
  for (const name of existsSync(folder) ? readdirSync(folder).sort() : []) {
    const type = types[name.slice(name.lastIndexOf('.') + 1) as keyof typeof types]
    if (!type) continue
    const content = readFileSync(new URL(name, folder))
    hash.update(`${name}\n`).update(content)
    files.set(name, { type, content })
  }
  if (!files.has('page.js') || !files.has('page.css')) {
    throw new Error(`the pages for customers are not built: run npm run build (nothing in ${folder.pathname})`)
  }
  return { version: hash.digest('hex').slice(0, 16), files }
}
