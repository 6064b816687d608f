export const files = import.meta.glob<Record<string, string>>('../../texts/*.en.json', {
  eager: true,
  import: 'default',
})
