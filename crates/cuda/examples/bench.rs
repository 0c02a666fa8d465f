//! Times kernels on a card beside a plain copy, and beside PyTorch where a Python has it.
//!
//! `cargo run --release -p minormajor-cuda --example bench -- --help` tells the options.

use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitCode, Stdio};

use minormajor::{ArrayShape, Layout, Plan, Shape};
use minormajor_cuda::driver::{Driver, Pinned, Queue};
use minormajor_cuda::product::{Matrix, Product};
use minormajor_cuda::relayout::launches;
use minormajor_cuda::{Cuda, CudaBackend, Library};

type Result<T> = std::result::Result<T, Box<dyn std::error::Error>>;

const HELP: &str = "\
Times relayouts, transfers and products on cuda:0 beside a device-to-device copy.

  --mib N         bytes of each array in MiB (1024)
  --rounds N      runs of which the median counts (9)
  --only TEXT     only cases whose name holds TEXT
  --python FILE   an interpreter with PyTorch, which is timed on the same cases
  --driver FILE   another libcuda than the system's
  --blas FILE     another libcublas than the system's";

struct Options {
    mib: u64,
    rounds: usize,
    only: String,
    python: Option<PathBuf>,
    driver: Option<String>,
    blas: Option<String>,
}

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("bench: {error}");
            ExitCode::FAILURE
        }
    }
}

fn options() -> Result<Option<Options>> {
    let mut options = Options {
        mib: 1024,
        rounds: 9,
        only: String::new(),
        python: None,
        driver: None,
        blas: None,
    };
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        if argument == "--help" {
            println!("{HELP}");
            return Ok(None);
        }
        let mut value = || {
            arguments
                .next()
                .ok_or_else(|| format!("`{argument}` needs a value"))
        };
        match argument.as_str() {
            "--mib" => options.mib = value()?.parse()?,
            "--rounds" => options.rounds = value()?.parse::<usize>()?.max(1),
            "--only" => options.only = value()?,
            "--python" => options.python = Some(value()?.into()),
            "--driver" => options.driver = Some(value()?),
            "--blas" => options.blas = Some(value()?),
            _ => return Err(format!("there is no option `{argument}`; try --help").into()),
        }
    }
    Ok(Some(options))
}

fn run() -> Result<()> {
    let Some(options) = options()? else {
        return Ok(());
    };
    let library = match &options.driver {
        Some(driver) => Library::open_files(driver, options.blas.as_ref().unwrap_or(driver)),
        None => Library::open(),
    };
    let library = match library {
        Ok(library) if library.count()? > 0 => library,
        Ok(_) => {
            println!("nothing is measured: the driver is there, and finds no device");
            return Ok(());
        }
        Err(reason) => {
            println!("nothing is measured: {reason}");
            return Ok(());
        }
    };
    let cuda = Cuda::new(&library, 0)?;
    println!("{}", cuda.description());
    let mut torch = options.python.as_deref().map(Torch::start).transpose()?;
    if let Some(torch) = &torch {
        println!("beside PyTorch {}", torch.version);
    }
    relayouts(&cuda, &options, torch.as_mut())?;
    transfers(&cuda, &library, &options)?;
    products(&cuda, &options, torch.as_mut())
}

/// The median of some seconds.
fn median(mut seconds: Vec<f64>) -> f64 {
    seconds.sort_by(f64::total_cmp);
    seconds[seconds.len() / 2]
}

/// Memory of the device, given back at the end.
struct Memory<'a>(&'a Cuda, u64);

impl<'a> Memory<'a> {
    fn new(cuda: &'a Cuda, bytes: i64) -> Result<Memory<'a>> {
        let address = cuda.allocate(Queue::Main, bytes.max(1) as u64)?;
        cuda.zero(address, bytes.max(1) as u64)?;
        Ok(Memory(cuda, address))
    }
}

impl Drop for Memory<'_> {
    fn drop(&mut self) {
        self.0.free(self.1);
    }
}

struct Case {
    name: String,
    source: ArrayShape,
    destination: ArrayShape,
}

/// The benchmark's suites A, B and C and reversals of many tiny dimensions, the first dimension as
/// long as the wanted size allows.
fn cases(bytes: i64) -> Result<Vec<Case>> {
    let listed = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../bench/cases.tsv");
    let listed = std::fs::read_to_string(listed)?;
    let mut cases = Vec::new();
    for line in listed.lines().filter(|line| !line.starts_with('#')) {
        let mut fields = line.split('\t');
        let (Some(name), Some(source), Some(destination)) =
            (fields.next(), fields.next(), fields.next())
        else {
            continue;
        };
        if !["A_", "B_", "C_"]
            .iter()
            .any(|suite| name.starts_with(suite))
        {
            continue;
        }
        let array = |text: &str| -> Result<ArrayShape> {
            let shape: Shape = text.parse()?;
            Ok(shape.as_array()?.clone())
        };
        let (source, destination) = (array(source)?, array(destination)?);
        let mut sizes = source.sizes()?;
        let found = source.allocated_bytes().ok_or("a case has no size")?;
        sizes[0] = (sizes[0] * bytes / found).max(1);
        let scaled = |array: &ArrayShape| -> Result<ArrayShape> {
            let layout = array.layout().ok_or("a case has no layout")?;
            Ok(
                ArrayShape::new(array.element_type(), sizes.iter().copied())?
                    .with_layout(layout.clone())?,
            )
        };
        cases.push(Case {
            name: name.to_owned(),
            source: scaled(&source)?,
            destination: scaled(&destination)?,
        });
    }
    for (size, most) in [(3i64, 15), (2, 23)] {
        let mut rank = most;
        while size.pow(rank) * 4 > bytes {
            rank -= 1;
        }
        let sizes = vec![size; rank as usize];
        let array = |order: Vec<i64>| -> Result<ArrayShape> {
            let shape = ArrayShape::new(minormajor::ElementType::F32, sizes.iter().copied())?;
            Ok(shape.with_layout(Layout::new(order)?)?)
        };
        let up: Vec<i64> = (0..i64::from(rank)).collect();
        cases.push(Case {
            name: format!("R_{size}^{rank}"),
            source: array(up.iter().rev().copied().collect())?,
            destination: array(up)?,
        });
    }
    Ok(cases)
}

fn relayouts(cuda: &Cuda, options: &Options, mut torch: Option<&mut Torch>) -> Result<()> {
    println!("\ncase\tGB/s\tof a copy\tPyTorch\tkernels");
    let mut ratios: Vec<(char, f64)> = Vec::new();
    for case in cases((options.mib as i64) << 20)? {
        if !case.name.contains(&options.only) {
            continue;
        }
        let plan = Plan::new(&case.source, &case.destination)?;
        let (from, to) = (
            Memory::new(cuda, plan.source_bytes())?,
            Memory::new(cuda, plan.destination_bytes())?,
        );
        let launches = launches(&plan, from.1, to.1, cuda.card())?;
        let bytes = plan.source_bytes() as u64;
        let relayout = || cuda.time(|| launches.iter().try_for_each(|l| cuda.launch(l)));
        let copy = || cuda.time(|| cuda.copy(from.1, to.1, bytes));
        let (mut ours, mut theirs) = (Vec::new(), Vec::new());
        relayout()?;
        copy()?;
        // In turns, so that both meet the same clocks.
        for _ in 0..options.rounds {
            ours.push(relayout()?);
            theirs.push(copy()?);
        }
        let (ours, theirs) = (median(ours), median(theirs));
        let ratio = theirs / ours;
        ratios.push((case.name.chars().next().unwrap_or('?'), ratio));
        let beside = match torch.as_deref_mut() {
            None => "-".to_owned(),
            Some(torch) => format!("{:.2}", torch.relayout(&case, options.rounds)? / ours),
        };
        let mut kernels: Vec<&str> = launches.iter().map(|l| &*l.kernel).collect();
        kernels.dedup();
        println!(
            "{}\t{:.0}\t{ratio:.3}\t{beside}\t{}",
            case.name,
            2.0 * bytes as f64 / ours / 1e9,
            kernels.join(" ")
        );
    }
    for suite in ['A', 'B', 'C', 'R'] {
        let of: Vec<f64> = ratios
            .iter()
            .filter(|(s, _)| *s == suite)
            .map(|(_, r)| *r)
            .collect();
        if !of.is_empty() {
            let mean = (of.iter().map(|r| r.ln()).sum::<f64>() / of.len() as f64).exp();
            let least = of.iter().copied().fold(f64::INFINITY, f64::min);
            println!(
                "{suite}: {mean:.3} of a copy, at least {least:.3}, {} cases",
                of.len()
            );
        }
    }
    Ok(())
}

/// Host to device with a transpose, beside a copy of the same bytes from pinned memory.
fn transfers(cuda: &Cuda, library: &Library, options: &Options) -> Result<()> {
    use minormajor::backend::Backend;
    let rows = ((options.mib << 20) / 4 / 1024).max(64);
    let shape = |order: &str| -> Result<Shape> { Ok(format!("f32[{rows},1024]{order}").parse()?) };
    let (from, to) = (shape("{1,0}")?, shape("{0,1}")?);
    let plan = Plan::new(from.as_array()?, to.as_array()?)?;
    let bytes = plan.source_bytes() as usize;
    let source = vec![1u8; bytes];
    let backend = CudaBackend::over("cuda:0", std::sync::Arc::new(Cuda::new(library, 0)?));
    let mut stage: Option<Box<dyn Pinned>> = Some(cuda.pinned(bytes)?);
    let (mut ours, mut plain) = (Vec::new(), Vec::new());
    for round in 0..=options.rounds {
        let start = std::time::Instant::now();
        let made = backend.upload_relaid(&plan, &source)?;
        backend.synchronize()?;
        let relaid = start.elapsed().as_secs_f64();
        drop(made);
        let memory = cuda.allocate(Queue::Uploads, bytes as u64)?;
        let start = std::time::Instant::now();
        let pinned = stage.take().ok_or("the stage is away")?;
        stage = Some(cuda.send(pinned, bytes, memory)?.land()?);
        let copied = start.elapsed().as_secs_f64();
        cuda.free(memory);
        // The first one of each warms up.
        if round > 0 {
            ours.push(relaid);
            plain.push(copied);
        }
    }
    let (ours, plain) = (median(ours), median(plain));
    println!(
        "\nhost to device: {:.1} GB/s with a transpose, {:.1} GB/s a plain pinned copy: {:.3} of it",
        bytes as f64 / ours / 1e9,
        bytes as f64 / plain / 1e9,
        plain / ours
    );
    Ok(())
}

fn products(cuda: &Cuda, options: &Options, mut torch: Option<&mut Torch>) -> Result<()> {
    println!("\nf32 product\tTFLOP/s\tPyTorch");
    for [m, k, n] in [[1024, 2048, 512], [4096, 4096, 4096]] {
        if m * n > (options.mib as i64) << 18 {
            continue;
        }
        let memory = [m * k, k * n, m * n].map(|elements| Memory::new(cuda, 4 * elements));
        let [a, b, c] = memory;
        let (a, b, c) = (a?, b?, c?);
        let matrix = |memory: &Memory<'_>, leading| Matrix {
            address: memory.1,
            transposed: false,
            leading,
            batch_stride: 0,
        };
        let product = Product {
            element_type: minormajor::ElementType::F32,
            m,
            n,
            k,
            batch: 1,
            left: matrix(&a, m),
            right: matrix(&b, k),
            result: matrix(&c, m),
        };
        let run = || cuda.time(|| cuda.product(&product));
        if let Err(reason) = run() {
            println!("no products: {reason}");
            return Ok(());
        }
        let seconds = (0..options.rounds)
            .map(|_| run())
            .collect::<std::result::Result<_, _>>()?;
        let seconds = median(seconds);
        let beside = match torch.as_deref_mut() {
            None => "-".to_owned(),
            Some(torch) => {
                let theirs = torch.ask(&format!(
                    "{{\"product\": [{m}, {k}, {n}], \"rounds\": {}}}",
                    options.rounds
                ))?;
                format!("{:.2}", theirs / seconds)
            }
        };
        let work = 2.0 * (m * k * n) as f64;
        println!("{m}x{k} by {k}x{n}\t{:.2}\t{beside}", work / seconds / 1e12);
    }
    Ok(())
}

/// PyTorch in another process.
struct Torch {
    child: Child,
    answers: BufReader<std::process::ChildStdout>,
    version: String,
}

impl Torch {
    fn start(python: &Path) -> Result<Torch> {
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/bench.py");
        let mut child = Command::new(python)
            .arg(script)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()?;
        let answers = child.stdout.take().ok_or("no pipe")?;
        let mut torch = Torch {
            child,
            answers: BufReader::new(answers),
            version: String::new(),
        };
        torch.version = torch.line()?;
        Ok(torch)
    }

    fn line(&mut self) -> Result<String> {
        let mut line = String::new();
        self.answers.read_line(&mut line)?;
        match line.trim() {
            "" => Err("PyTorch's process ended".into()),
            line => Ok(line.to_owned()),
        }
    }

    fn ask(&mut self, request: &str) -> Result<f64> {
        let requests = self.child.stdin.as_mut().ok_or("no pipe")?;
        writeln!(requests, "{request}")?;
        Ok(self.line()?.parse()?)
    }

    /// Sizes as the source lies, and where the destination's dimensions are among them.
    fn relayout(&mut self, case: &Case, rounds: usize) -> Result<f64> {
        let order = |array: &ArrayShape| -> Result<Vec<usize>> {
            let layout = array.layout().ok_or("a case has no layout")?;
            Ok(layout.minor_to_major().iter().rev().copied().collect())
        };
        let (from, to) = (order(&case.source)?, order(&case.destination)?);
        let sizes = case.source.sizes()?;
        let sizes: Vec<i64> = from.iter().map(|&d| sizes[d]).collect();
        let permutation: Vec<usize> = to
            .iter()
            .filter_map(|d| from.iter().position(|f| f == d))
            .collect();
        let width = case.source.element_type().byte_width();
        self.ask(&format!(
            "{{\"sizes\": {sizes:?}, \"permutation\": {permutation:?}, \"width\": {width}, \"rounds\": {rounds}}}"
        ))
    }
}
