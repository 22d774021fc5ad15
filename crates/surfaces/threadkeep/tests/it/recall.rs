//! Facts that were told fifty threads ago are remembered by questions in other words; forgotten ones never.

use threadkeep::{AddMemory, At, Delete, Engine, SearchMemories};

use crate::{Keep, run};

/// Each fact was told in a thread of its own; each question asks for it in other words.
const FACTS: [(&str, &str); 50] = [
    ("Is allergic to peanuts and carries an inhaler.", "Which foods do I have to avoid?"),
    ("The production database runs on PostgreSQL 16 in Frankfurt.", "Where is our live DB hosted?"),
    ("Prefers short answers without introductions.", "How verbose should replies be?"),
    ("Her daughter Mia was born on 3 May 2019.", "When is my kid's birthday?"),
    ("Deployments happen on Tuesdays after 10 o'clock.", "On which weekday do we release?"),
    ("Writes all documentation in British English.", "Which spelling do we use in the docs?"),
    ("Drives a red Toyota Yaris from 2015.", "What car do I own?"),
    (
        "The team decided to use Rust instead of Go for the new service.",
        "Which programming language did we pick for the backend?",
    ),
    ("Lives in Lisbon, close to the river.", "In what city is my home?"),
    ("Takes the train to work at 7:40 every morning.", "How do I commute?"),
    ("The API keys are rotated every ninety days.", "How often do we renew our credentials?"),
    ("Is a vegetarian but eats fish on holidays.", "Do I eat meat?"),
    ("The staging server is called eu-2 and has 8 GB of memory.", "What is the name of the test machine?"),
    ("Uses vim key bindings in every editor.", "Which keyboard shortcuts do I like?"),
    ("Has two cats named Pixel and Vector.", "What are my pets called?"),
    ("The budget for the trip to Japan is 4,000 euros.", "How much money can I spend on the vacation in Tokyo?"),
    ("Customer invoices are sent on the last day of the month.", "When do clients get their bills?"),
    ("Learned the piano as a child and now plays jazz.", "Which musical instrument do I play?"),
    ("The logo must never be shown on a dark background.", "What are the rules for using our brand mark?"),
    ("Needs a wheelchair ramp at every hotel.", "What accessibility requirements apply to accommodation?"),
    ("Tests have to pass on Windows and on Linux.", "Which operating systems does the CI cover?"),
    ("His doctor told him to drink less coffee.", "What did the physician advise about caffeine?"),
    ("The contract with the cleaning company ends in June.", "Until when is the agreement with the janitors valid?"),
    ("Speaks Portuguese, English and a little Dutch.", "Which languages do I know?"),
    ("Images are compressed to WebP before upload.", "In which format are pictures stored?"),
    ("The meeting with the investors was moved to 9 March.", "What is the new date of the funding talk?"),
    ("Wants all times in the 24-hour clock.", "How should hours be written?"),
    ("The password policy demands at least fourteen characters.", "How long must a passphrase be?"),
    ("Runs ten kilometres twice a week.", "How much do I jog?"),
    ("The mobile app still supports Android 9.", "What is the oldest phone version that we serve?"),
    ("Her favourite author is Ursula K. Le Guin.", "Whose novels do I enjoy most?"),
    ("Backups are kept for thirty-five days.", "How long can we restore old data?"),
    ("Works only four days a week, never on Fridays.", "On which day am I off?"),
    ("The office plants are watered by Tom.", "Who takes care of the greenery at work?"),
    ("Error messages are shown in the language of the browser.", "How is the locale of failures chosen?"),
    ("Bought a Canon camera for the wedding.", "Which device do I take photos with?"),
    ("The feature flag for dark mode is called night_theme.", "What is the toggle for the black interface named?"),
    ("Gets seasick on small boats.", "Should I book a sailing tour?"),
    ("Support tickets are answered within four hours.", "What is our response time for customer questions?"),
    ("Her sister Anna lives in Oslo.", "Where does my sibling stay?"),
    ("The server room is kept at nineteen degrees.", "What temperature do the machines need?"),
    ("Pays by bank transfer, never by credit card.", "Which payment method do I want?"),
    ("Pull requests need two reviewers.", "How many approvals does a change require?"),
    ("Sleeps badly when the window is closed.", "What helps me at night?"),
    ("The printer on the second floor is out of toner.", "What is wrong with the device upstairs?"),
    ("Is studying for the pilot's licence.", "What exam am I preparing for?"),
    ("The newsletter goes to 12,000 subscribers.", "How many people read our mailing?"),
    ("Wears size 43 shoes.", "What is my foot size?"),
    ("The warehouse in Rotterdam opens at six.", "When does the storage building start its day?"),
    ("Prefers window seats on long flights.", "Where do I like to sit in an airplane?"),
];
/// The part of the questions whose memory is among the first five, in percent.
const BAR_PERCENT: usize = 85;

async fn found(engine: &Engine, question: &str) -> Vec<String> {
    let found = engine.call(At::none(), SearchMemories::new(question)).await.expect("results");
    found.results.into_iter().map(|found| found.memory.text).collect()
}

#[test]
fn facts_of_fifty_threads_are_found_by_other_words_and_forgotten_ones_never() {
    run(async {
        let keep = Keep::memory();
        let engine = &keep.engine;
        let mut threads = Vec::new();
        for (fact, _) in FACTS {
            let thread = keep.thread(&[fact]).await;
            let sources = keep.ids(thread).await.into_iter().map(Into::into).collect();
            engine.call(At::none(), AddMemory { sources, ..AddMemory::new(fact) }).await.expect("a memory");
            threads.push(thread);
        }
        let mut missed = Vec::new();
        for (fact, question) in FACTS {
            let best = found(engine, question).await;
            if !best.iter().take(5).any(|text| text == fact) {
                missed.push((question, fact));
            }
        }
        let hits = FACTS.len() - missed.len();
        eprintln!("{hits} of {} memories are among the first five", FACTS.len());
        assert!(hits * 100 >= FACTS.len() * BAR_PERCENT, "{hits} of {}: {missed:#?}", FACTS.len());
        for (thread, (fact, question)) in threads.iter().zip(FACTS).step_by(2) {
            engine.call(*thread, Delete {}).await.expect("deleted");
            for query in [question, fact] {
                assert!(!found(engine, query).await.iter().any(|text| text == fact), "'{fact}' was forgotten");
            }
        }
    });
}
