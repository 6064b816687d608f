import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { parse } from '@formatjs/icu-messageformat-parser'
import react from '@vitejs/plugin-react'
import { defineConfig, type Plugin, type Rolldown } from 'vite'
import { englishTexts } from './rule-texts'
import { pack } from './src/app/packed-texts'

/** Drops the texts of React Aria in languages that the pages do not have. It ships 34 languages. */
const onlyOurLanguages: Plugin = {
  name: 'only-our-languages',
  enforce: 'pre',
  load(id) {
    const [, language] = /\/react-(?:aria|stately|aria-components)\/.*\/([a-z]{2}-[A-Z]{2})\.m?js$/.exec(id) ?? []
    return language === undefined || language === 'en-US' || language === 'tr-TR' ? null : 'export default {}'
  },
}

/**
 * Empties React Aria's announcer without `innerHTML`, which the pages' policy forbids. The error ended the page when a user typed a second
 * digit of a date.
 */
const announcerWithoutMarkup: Plugin = {
  name: 'announcer-without-markup',
  enforce: 'pre',
  transform(code, id) {
    if (!/\/LiveAnnouncer\.m?js$/.test(id)) return null
    return { code: code.replaceAll(".innerHTML = ''", '.replaceChildren()'), map: null }
  },
}

/**
 * Puts each style sheet into the cascade layer of its folder, so that a page can adjust a component regardless of the order in which the
 * sheets load. Each sheet states the order of the layers, because any of them may load first.
 */
const layerOfFolder: Plugin = {
  name: 'layer-of-folder',
  enforce: 'pre',
  transform(code, id) {
    const [, folder] = /\/dashboard\/src\/(?:(components|app|pages)\/)?.*\.css$/.exec(id) ?? [undefined, null]
    if (folder === null) return null
    const order = '@layer base, components, app, pages, utilities;'
    return { code: `${order}\n${folder ? `@layer ${folder} {\n${code}\n}` : code}`, map: null }
  },
}

const sources = join(import.meta.dirname, 'src')
const textsFolder = join(import.meta.dirname, 'texts')

/** Returns the source files that a source file imports statically, including itself. */
function importedSources(file: string, found = new Set<string>()): Set<string> {
  const path = [file, `${file}.ts`, `${file}.tsx`].find((each) => /\.tsx?$/.test(each) && existsSync(each))
  if (path === undefined || found.has(path)) return found
  found.add(path)
  for (const [, name] of readFileSync(path, 'utf8').matchAll(/^(?:import|\}) (?!type).*'(\..*)'$/gm))
    importedSources(join(dirname(path), name!), found)
  return found
}

/** Returns whether the first page or the sign-in shows a text: its id, or the part of it before a value, is in a source file of that page. */
function shownFirst(): (id: string) => boolean {
  const files = ['main', 'app/SignIn', 'pages/overview/OverviewPage'].flatMap((name) => [
    ...importedSources(join(sources, name)),
  ])
  const code = files.map((file) => readFileSync(file, 'utf8')).join('\n')
  const starts = [...code.matchAll(/`([a-z]+\.[\w.-]*)\$\{/g)].map(([, start]) => start!)
  return (id) => code.includes(`'${id}'`) || starts.some((start) => id.startsWith(start))
}

/**
 * Provides `texts:<language>-first`, which has the texts of the first page, and `texts:<language>-others`. They contain parsed messages, so
 * that no browser has to load the parser.
 */
const textModules: Plugin = {
  name: 'text-modules',
  resolveId: (id) => (id.startsWith('texts:') ? `\0${id}` : null),
  load(id) {
    const [, language, part] = /^\0texts:(\w+)-(\w+)$/.exec(id) ?? []
    if (language === undefined) return null
    const isFirst = shownFirst()
    const files = readdirSync(textsFolder).filter((name) => name.endsWith(`.${language}.json`))
    const messages = files.flatMap((name) => {
      const inFile = JSON.parse(readFileSync(join(textsFolder, name), 'utf8')) as Record<string, string>
      const area = name.split('.')[0]!
      const texts = language === 'en' ? { ...englishTexts[area], ...inFile } : inFile
      return Object.entries(texts).map(([key, message]) => {
        return [`${area}.${key}`, parse(message).map(pack)] as const
      })
    })
    const chosen = messages.filter(([textId]) => isFirst(textId) === (part === 'first'))
    return `export default ${JSON.stringify(Object.fromEntries(chosen))}`
  },
}

/** Imports each icon from its own file, so that the files of the first page contain only the icons of that page. */
const iconsByFile: Plugin = {
  name: 'icons-by-file',
  enforce: 'pre',
  transform(code) {
    return code.replaceAll(/import \{([^}]*)\} from 'lucide-react'/g, (_, names: string) =>
      names
        .split(',')
        .map((name) => name.trim())
        .filter((name) => name !== '' && !name.startsWith('type '))
        .map((name) => name.split(' as '))
        .map(([icon = '', name = icon]) => `import ${name} from 'lucide-react/icons/${fileOf(icon)}'`)
        .join(';'),
    )
  },
}

/** Returns `arrow-up-1` for `ArrowUp1`. */
function fileOf(icon: string): string {
  return icon.replaceAll(/(?<=[a-z0-9])(?=[A-Z0-9])/g, '-').toLowerCase()
}

/** Returns the modules that a module imports statically, including itself. */
function staticImports(name: string, context: Rolldown.ChunkingContext, found = new Set<string>()) {
  const visit = (id: string) => {
    if (found.has(id)) return
    found.add(id)
    for (const each of context.getModuleInfo(id)?.importedIds ?? []) visit(each)
  }
  visit(join(sources, name))
  return found
}

let chunkOf: ReadonlyMap<string, string> | undefined

/**
 * Puts what the first page needs into few files, because a browser requests only six at a time. `first` requests the others, so it must
 * import none of them. Libraries change less often than the pages, so browsers keep them across versions.
 */
function nameChunk(id: string, context: Rolldown.ChunkingContext): string | null {
  chunkOf ??= new Map([
    ...[...staticImports('pages/overview/OverviewPage.tsx', context)]
      .filter((each) => !each.includes('/src/pages/'))
      .concat([...staticImports('main.tsx', context)])
      .map((each) => [each, each.includes('/node_modules/') ? 'libraries' : 'main'] as const),
    ...[...staticImports('first-requests.ts', context)].map((each) => [each, 'first'] as const),
  ])
  return id.includes('rolldown/runtime') ? 'libraries' : (chunkOf.get(id) ?? null)
}

/** Lets the browser request the application while it loads the script that requests the rest. */
const preloadMain: Plugin = {
  name: 'preload-main',
  transformIndexHtml: {
    order: 'post',
    handler(_html, { bundle = {} }) {
      const files = Object.values(bundle).flatMap((chunk) =>
        chunk.type === 'chunk' && ['main', 'libraries'].includes(chunk.name) ? chunk : [],
      )
      const link = (rel: string, file: string) => ({ tag: 'link', attrs: { rel, href: `./${file}` } })
      return files.flatMap(({ fileName, viteMetadata }) => [
        link('modulepreload', fileName),
        ...[...(viteMetadata?.importedCss ?? [])].map((css) => link('stylesheet', css)),
      ])
    },
  },
}

export default defineConfig({
  root: import.meta.dirname,
  // Relative to the base path that the server writes into the page, because PUBLIC_URL may have a path.
  base: './',
  resolve: { alias: { '@formatjs/icu-messageformat-parser': '@formatjs/icu-messageformat-parser/no-parser.js' } },
  plugins: [onlyOurLanguages, announcerWithoutMarkup, textModules, layerOfFolder, iconsByFile, react(), preloadMain],
  build: {
    outDir: '../../dist/web/dashboard',
    emptyOutDir: true,
    manifest: true,
    target: 'es2023',
    // An inlined asset would be a data: URL, which the pages' policy forbids.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    rolldownOptions: { output: { codeSplitting: { groups: [{ name: nameChunk, debugName: 'first page' }] } } },
    reportCompressedSize: false,
    // A test limits the compressed size instead.
    chunkSizeWarningLimit: 1000,
  },
})
