/** The build provides these modules (vite.config.ts). */
declare module 'texts:*' {
  const texts: Readonly<Record<string, string | import('react-intl').MessageFormatElement[]>>
  export default texts
}
