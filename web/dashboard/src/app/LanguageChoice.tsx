import { Button } from '../components/Button'
import { useChosenLanguage } from './language'
import { type Language, languages } from './text-files'
import { useText } from './texts'

export function LanguageChoice() {
  const text = useText()
  const { language, choose } = useChosenLanguage()
  return (
    <fieldset className="row" aria-label={text('shell.language')}>
      {(Object.keys(languages) as Language[]).map((each) => (
        <Button key={each} look="quiet" lang={each} aria-pressed={each === language} onPress={() => choose(each)}>
          {languages[each]}
        </Button>
      ))}
    </fieldset>
  )
}
